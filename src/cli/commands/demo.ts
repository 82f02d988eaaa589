import { Option } from 'commander'
import type { AddCommand } from '../context.ts'
import { UsageError } from '../exit.ts'

interface DemoFlags {
  readonly fast?: boolean
  readonly asNode?: string
  readonly server?: string
  readonly registry?: string
}

export const add: AddCommand = (program, context, done) => {
  program
    .command('demo')
    .description('Eight nodes pull twenty layers with failures and a crash, and each layer is fetched once.')
    .option('--fast', 'in a few seconds')
    .addOption(new Option('--as-node <node>').hideHelp())
    .addOption(new Option('--server <url>').hideHelp())
    .addOption(new Option('--registry <url>').hideHelp())
    .addHelpText(
      'after',
      `
It starts a server of its own in memory and touches nothing else. Exits with 1 if a layer was not fetched exactly once.

Example:
  $ baton demo`,
    )
    .action(async ({ fast = false, asNode, server, registry }: DemoFlags) => {
      // Not loaded before it is needed: it is the largest of the commands and the rarest.
      if (asNode === undefined) {
        const { runDemo } = await import('../demo/demo.ts')
        return done(await runDemo({ fast }, context))
      }
      if (server === undefined || registry === undefined) {
        throw new UsageError('a node of the demo needs --server and --registry; say `baton demo` to see it all')
      }
      const { runDemoNode } = await import('../demo/node.ts')
      done(await runDemoNode({ node: asNode, server, registry, fast }))
    })
}
