import { once, setMaxListeners } from 'node:events'
import { connect } from '../../client/index.ts'
import { EXIT } from '../exit.ts'
import { demoPlan, orderOf } from './plan.ts'
import { GO, type NodeMessage } from './processes.ts'
import { pullAll } from './pull.ts'

interface DemoNodeOptions {
  readonly node: string
  readonly server: string
  readonly registry: string
  readonly fast: boolean
}

/** One node of the demo in a process of its own: the one that is killed. */
export async function runDemoNode({ node, server, registry, fast }: DemoNodeOptions): Promise<number> {
  const say = (message: NodeMessage) => process.send?.(message)
  const plan = demoPlan({ fast })
  const orphaned = new AbortController()
  setMaxListeners(0, orphaned.signal)
  process.once('disconnect', () => orphaned.abort())
  const baton = await connect(server, { node, ttlMs: plan.ttlMs, onNotice: () => {} })
  const told = once(process, 'message', { signal: orphaned.signal })
  say({ type: 'ready' })
  const [word] = await told
  if (word !== GO) return EXIT.failed
  await pullAll(orderOf(plan, node), {
    baton,
    registryUrl: registry,
    parallel: plan.parallel,
    report: (report) => say({ type: 'report', report }),
    signal: orphaned.signal,
  })
  say({ type: 'finished' })
  await baton.close()
  process.disconnect?.()
  return EXIT.ok
}
