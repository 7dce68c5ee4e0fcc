/** Settings of the page that outlive a reload, where the browser lets them. */

/** The kept word, or the first of the possible ones. */
export function kept<Word extends string>(name: string, words: readonly [Word, ...Word[]]): Word {
  try {
    const word = localStorage.getItem(`delassus-${name}`);
    return words.find((known) => known === word) ?? words[0];
  } catch {
    return words[0];
  }
}

export function keep(name: string, word: string): void {
  try {
    localStorage.setItem(`delassus-${name}`, word);
  } catch {
    // Not kept where storage is forbidden.
  }
}
