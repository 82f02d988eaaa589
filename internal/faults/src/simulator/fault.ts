import type { Fault } from './plan.ts'
import type { World } from './world.ts'

/** Does the damage, and sees to it that it is undone in time. Returns how to undo it at once. */
export function inflict(world: World, fault: Fault): () => void {
  const undo = once(damage(world, fault))
  world.scheduler.after(world.outside, fault.forMs, undo)
  return undo
}

function damage(world: World, fault: Fault): () => void {
  const { clients, servers, network, random } = world
  switch (fault.kind) {
    case 'pause-client': {
      const { process, name } = clients[fault.client]!
      process.pause()
      world.note(name, 'paused')
      return () => {
        if (process.isDead) return
        process.resume(random)
        // It runs again once it has seen to what fell due meanwhile: only then can it have noticed anything.
        world.scheduler.after(process, 1, () => world.note(name, 'resumed'))
      }
    }
    case 'crash-client':
      world.replaceClient(fault.client)
      return () => {}
    case 'pause-server': {
      const { process } = servers[fault.server]!
      process.pause()
      return () => process.resume(random)
    }
    case 'crash-server': {
      const server = servers[fault.server]!
      if (server.process.isDead) return () => {}
      server.crash()
      return () => server.start()
    }
    case 'drain-server': {
      const streams = [...network.streams].filter(({ server }) => server === servers[fault.server])
      for (const stream of streams) stream.drain?.()
      return () => {
        for (const stream of streams) stream.leave?.()
      }
    }
    case 'partition': {
      const client = clients[fault.client]!.name
      const server = servers[fault.server]!.name
      const cuts = [
        ...(fault.way === 'back' ? [] : [network.cut(client, server)]),
        ...(fault.way === 'there' ? [] : [network.cut(server, client)]),
      ]
      return () => {
        for (const mend of cuts) mend()
      }
    }
    case 'store-away':
      world.storeAway++
      return () => {
        world.storeAway--
      }
    case 'reset-streams':
      for (const stream of network.streams) stream.cut()
      return () => {}
  }
}

function once(act: () => void): () => void {
  let done = false
  return () => {
    if (!done) act()
    done = true
  }
}
