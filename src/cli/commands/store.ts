import type { AddCommand } from '../context.ts'
import { EXIT } from '../exit.ts'

interface StoreFlags {
  readonly store?: string
}

export const addStore: AddCommand = (program, context, done) => {
  const store = program.command('store').description('Look after a store.')

  const addTool = (name: 'check' | 'migrate', description: string) =>
    store
      .command(name)
      .description(description)
      .option('--store <url>', 'which one (BATON_STORE; default: memory:)')
      .addHelpText('after', `\nExample:\n  $ baton store ${name} --store memory:`)
      .action(async (flags: StoreFlags) => {
        const url = flags.store ?? (context.env.BATON_STORE || 'memory:')
        context.stdout.write(`${await context.storeCare[name](url)}\n`)
        done(EXIT.ok)
      })

  addTool('check', 'say whether a store is in order')
  addTool('migrate', 'bring a store to the format of this version')
}
