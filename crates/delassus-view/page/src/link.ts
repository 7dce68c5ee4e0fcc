/** The connection to the server: comes back by itself when the server does. */

import { decode, type Command, type Event, type Frame } from "./protocol";

const FIRST_WAIT = 250;
const LONGEST_WAIT = 3000;

export class Link {
  private socket: WebSocket | null = null;
  private wait = FIRST_WAIT;

  constructor(
    private readonly onEvent: (event: Event) => void,
    private readonly onFrame: (frame: Frame) => void,
    private readonly onState: (connected: boolean) => void,
  ) {
    this.open();
  }

  send(command: Command): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(command));
  }

  private open(): void {
    const socket = new WebSocket(`ws://${location.host}/live`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.wait = FIRST_WAIT;
      this.onState(true);
    };
    socket.onmessage = (message: MessageEvent<string | ArrayBuffer>) => {
      if (typeof message.data === "string") this.onEvent(JSON.parse(message.data) as Event);
      else this.onFrame(decode(message.data));
    };
    socket.onclose = () => {
      this.onState(false);
      setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
    };
    this.socket = socket;
  }
}
