import { DEFAULT_STORE } from '../config/serve-config.ts'
import type { AddCommand, StoreCare } from '../context.ts'
import { EXIT, UsageError } from '../exit.ts'

interface StoreFlags {
  readonly store?: string
}

export const addStore: AddCommand = (program, context, done) => {
  const store = program.command('store').description('Look after a store that no server has open.')

  const addTool = (name: keyof StoreCare, description: string) =>
    store
      .command(name)
      .argument('[directory]', 'of a file store: the same as --store file:DIRECTORY')
      .description(description)
      .option('--store <url>', `which one (BATON_STORE; default: ${DEFAULT_STORE})`)
      .addHelpText('after', `\nExample:\n  $ baton store ${name} ./baton-data`)
      .action(async (directory: string | undefined, flags: StoreFlags) => {
        if (directory !== undefined && flags.store !== undefined) {
          throw new UsageError(`both ${directory} and --store are named; name one of them`)
        }
        const named = directory === undefined ? flags.store : `file:${directory}`
        context.stdout.write(`${await context.storeCare[name](named ?? (context.env.BATON_STORE || DEFAULT_STORE))}\n`)
        done(EXIT.ok)
      })

  addTool('check', 'say whether a store is in order')
  addTool('repair', 'go on without what is damaged: keeps what is good, puts the rest aside, says what is lost')
  addTool('migrate', 'bring a store to the format of this version')
}
