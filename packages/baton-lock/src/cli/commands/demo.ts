import { Option } from 'commander'
import type { DefineCommand } from '../command.ts'

interface DemoFlags {
  readonly asNode?: string
}

export const demo: DefineCommand = (context) => ({
  name: 'demo',
  summary: 'Three nodes pull the same layers; one is killed, another takes over, and each layer is fetched once.',
  flags: [new Option('--as-node <json>').hideHelp()],
  notes: `The demo starts a server of its own in memory and touches nothing else. It exits with 1 if a layer was not fetched
exactly once.`,
  example: '$ baton demo',
  async run({ asNode }: DemoFlags) {
    // The demo starts itself again, once for each node.
    if (asNode !== undefined) {
      const { runDemoNode } = await import('../demo/node.ts')
      return runDemoNode(JSON.parse(asNode))
    }
    const { runDemo } = await import('../demo/demo.ts')
    return runDemo(context)
  },
})
