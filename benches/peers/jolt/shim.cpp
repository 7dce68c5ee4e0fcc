// What jolt.rs needs of Jolt, as plain functions. Bodies keep the order in which they are added.
#include <Jolt/Jolt.h>
#include <Jolt/Core/Factory.h>
#include <Jolt/Core/JobSystemSingleThreaded.h>
#include <Jolt/Core/JobSystemThreadPool.h>
#include <Jolt/Core/TempAllocator.h>
#include <Jolt/Physics/Body/BodyCreationSettings.h>
#include <Jolt/Physics/Collision/Shape/BoxShape.h>
#include <Jolt/Physics/Collision/Shape/CapsuleShape.h>
#include <Jolt/Physics/Collision/Shape/ConvexHullShape.h>
#include <Jolt/Physics/Collision/Shape/CylinderShape.h>
#include <Jolt/Physics/Collision/Shape/RotatedTranslatedShape.h>
#include <Jolt/Physics/Collision/Shape/SphereShape.h>
#include <Jolt/Physics/PhysicsSystem.h>
#include <Jolt/RegisterTypes.h>

#include <algorithm>
#include <memory>
#include <vector>

using namespace JPH;

namespace {

// What never moves is in layer 0, all else in layer 1; two that never move do not meet.
struct Layers final : BroadPhaseLayerInterface {
    uint GetNumBroadPhaseLayers() const override { return 2; }
    BroadPhaseLayer GetBroadPhaseLayer(ObjectLayer layer) const override { return BroadPhaseLayer(BroadPhaseLayer::Type(layer)); }
#if defined(JPH_EXTERNAL_PROFILE) || defined(JPH_PROFILE_ENABLED)
    const char *GetBroadPhaseLayerName(BroadPhaseLayer) const override { return ""; }
#endif
};
struct WithLayer final : ObjectVsBroadPhaseLayerFilter {
    bool ShouldCollide(ObjectLayer a, BroadPhaseLayer b) const override { return a == 1 || b == BroadPhaseLayer(1); }
};
struct WithObject final : ObjectLayerPairFilter {
    bool ShouldCollide(ObjectLayer a, ObjectLayer b) const override { return a == 1 || b == 1; }
};

struct World {
    Layers layers;
    WithLayer with_layer;
    WithObject with_object;
    PhysicsSystem system;
    TempAllocatorMalloc room;
    std::unique_ptr<JobSystem> jobs;
    std::vector<Body *> bodies;
};

float mean_friction(const Body &a, const SubShapeID &, const Body &b, const SubShapeID &) {
    return 0.5f * (a.GetFriction() + b.GetFriction());
}

// Edges are rounded by no more than a fifth of what is thinnest; Jolt's own 5 cm are more than a pebble has.
float rounding(float thinnest) { return std::min(cDefaultConvexRadius, 0.2f * thinnest); }

Ref<Shape> made(int kind, const float *n, int count) {
    switch (kind) {
    case 0: return new SphereShape(n[0]);
    case 1: return new BoxShape(Vec3(n[0], n[1], n[2]), rounding(std::min({n[0], n[1], n[2]})));
    case 2: return new CapsuleShape(n[0], n[1]);
    case 3: return new CylinderShape(n[0], n[1], rounding(std::min(n[0], n[1])));
    default: {
        Array<Vec3> points;
        float least = 1e9f, most = -1e9f;
        for (int i = 0; i < count; i += 3) {
            points.push_back(Vec3(n[i], n[i + 1], n[i + 2]));
            least = std::min(least, n[i + 2]);
            most = std::max(most, n[i + 2]);
        }
        ShapeSettings::ShapeResult result = ConvexHullShapeSettings(points, rounding(0.5f * (most - least))).Create();
        return result.IsValid() ? result.Get() : Ref<Shape>();
    }
    }
}

} // namespace

extern "C" {

struct JoltBody {
    float position[3], orientation[4];
    // Of the shape on the body.
    float place[3], turn[4];
    // Zero for a body that never moves; the inertia by columns, about the centre of mass, in axes of the body.
    float mass, inertia[9], friction;
};

void *jolt_new(const float *gravity, int threads, int bodies) {
    if (Factory::sInstance == nullptr) {
        RegisterDefaultAllocator();
        Factory::sInstance = new Factory();
        RegisterTypes();
    }
    World *world = new World;
    if (threads <= 1)
        world->jobs = std::make_unique<JobSystemSingleThreaded>(cMaxPhysicsJobs);
    else
        world->jobs = std::make_unique<JobSystemThreadPool>(cMaxPhysicsJobs, cMaxPhysicsBarriers, threads - 1);
    const uint contacts = uint(16 * bodies + 1024);
    world->system.Init(uint(bodies + 16), 0, 2 * contacts, contacts, world->layers, world->with_layer, world->with_object);
    world->system.SetGravity(Vec3(gravity[0], gravity[1], gravity[2]));
    world->system.SetCombineFriction(mean_friction);
    return world;
}

// Kinds: sphere (r), box (half), capsule and cylinder (half length, r; along y), hull (points). False where the shape is refused.
bool jolt_add(void *of, const JoltBody *body, int kind, const float *numbers, int count) {
    World &world = *static_cast<World *>(of);
    Ref<Shape> shape = made(kind, numbers, count);
    if (shape == nullptr)
        return false;
    const Vec3 place(body->place[0], body->place[1], body->place[2]);
    const Quat turn(body->turn[0], body->turn[1], body->turn[2], body->turn[3]);
    if (place != Vec3::sZero() || turn != Quat::sIdentity())
        shape = new RotatedTranslatedShape(place, turn, shape);
    const bool moves = 0.0f < body->mass;
    const float *x = body->position, *q = body->orientation;
    BodyCreationSettings settings(shape, Vec3(x[0], x[1], x[2]), Quat(q[0], q[1], q[2], q[3]),
                                  moves ? EMotionType::Dynamic : EMotionType::Static, moves ? 1 : 0);
    settings.mFriction = body->friction;
    settings.mLinearDamping = settings.mAngularDamping = 0.0f;
    settings.mAllowSleeping = false;
    if (moves) {
        const float *i = body->inertia;
        settings.mOverrideMassProperties = EOverrideMassProperties::MassAndInertiaProvided;
        settings.mMassPropertiesOverride.mMass = body->mass;
        settings.mMassPropertiesOverride.mInertia =
            Mat44(Vec4(i[0], i[1], i[2], 0), Vec4(i[3], i[4], i[5], 0), Vec4(i[6], i[7], i[8], 0), Vec4(0, 0, 0, 1));
    }
    BodyInterface &bodies = world.system.GetBodyInterface();
    Body *made_body = bodies.CreateBody(settings);
    if (made_body == nullptr)
        return false;
    bodies.AddBody(made_body->GetID(), moves ? EActivation::Activate : EActivation::DontActivate);
    world.bodies.push_back(made_body);
    return true;
}

void jolt_start(void *of) { static_cast<World *>(of)->system.OptimizeBroadPhase(); }

// Zero, or what was too small for all contacts.
unsigned jolt_step(void *of, float dt) {
    World &world = *static_cast<World *>(of);
    return unsigned(world.system.Update(dt, 1, &world.room, world.jobs.get()));
}

// Position, orientation (x, y, z, w) and speed of the body that was added as number i.
void jolt_state(const void *of, int i, float *out) {
    const Body &body = *static_cast<const World *>(of)->bodies[size_t(i)];
    const Vec3 x = body.GetPosition(), v = body.GetLinearVelocity();
    const Quat q = body.GetRotation();
    const float numbers[8] = {x.GetX(), x.GetY(), x.GetZ(), q.GetX(), q.GetY(), q.GetZ(), q.GetW(), v.Length()};
    std::copy(numbers, numbers + 8, out);
}

void jolt_free(void *of) { delete static_cast<World *>(of); }
}
