import { backupOfServer } from '../backup.ts'
import type { CommandDefinition, DefineCommand } from '../command.ts'
import { DEFAULT_STORE } from '../config/serve-settings.ts'
import { type ConnectionFlags, credentialFlags, DEFAULT_SERVER } from '../connection.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../exit.ts'
import { sayText } from '../print/say.ts'

interface StoreFlags {
  readonly store?: string
}

export const store: DefineCommand = (context) => ({
  name: 'store',
  summary: 'Look after a store: a file store, or a database.',
  commands: [
    tool(context, {
      name: 'check',
      run: context.storeMaintenance.check,
      summary: 'say whether a store is in order, while no server has it open; or a backup',
      example: './baton-data',
    }),
    backup(context),
    restore(context),
    tool(context, {
      name: 'raise-fences',
      run: context.storeMaintenance['raise-fences'],
      summary:
        'after another kind of restore, or for a store that was cleared: no fence is granted again that was granted before',
      flags: [RAISE],
      example: './baton-data',
    }),
    tool(context, {
      name: 'create',
      run: (url, { print = false }: { readonly print?: boolean }) => context.storeMaintenance.create(url, { print }),
      summary: 'make the tables of a store where there are none yet, as the first start would',
      flags: [['--print', 'only print the statements, for whoever may change the database']],
      example: 'mysql://baton:secret@db:3306/baton --print',
    }),
  ],
})

const backup: DefineCommand = (context) => ({
  name: 'backup',
  summary: 'write a file store to one file: its server does it, or this command if no server runs',
  args: [['<file>', 'a file that does not exist yet']],
  flags: [
    ['--server <url>', `the server (BATON_SERVER; default: ${DEFAULT_SERVER})`],
    ['--store <url>', 'the store, if no server has it open'],
    ...credentialFlags,
  ],
  example: '$ baton store backup /var/backups/baton-monday --server http://10.0.0.1:8086',
  async run(flags: ConnectionFlags, to: string) {
    if (flags.server !== undefined && flags.store !== undefined) {
      throw new UsageError('--server and --store exclude one another; name one of them')
    }
    if (to === '') throw new UsageError('the backup needs the name of a file')
    const { storeMaintenance: maintenance } = context
    const said =
      flags.store === undefined ? backupOfServer(flags, context, to) : maintenance.backup(flags.store, { to })
    sayText(context.stdout, `${await said}\n`)
  },
})

interface RestoreFlags extends StoreFlags {
  readonly force?: boolean
  readonly asCopy?: boolean
  readonly by?: number
}

const restore: DefineCommand = (context) => ({
  name: 'restore',
  summary: 'make a store of a backup, with fences above all that was granted since it was made',
  args: [['<file>', 'the backup; it is read, and not changed']],
  flags: [
    STORE,
    ['--force', 'if there is a store already: move it aside, and say where'],
    ['--as-copy', 'for a store beside the original, and not in its place: it gets an id of its own'],
    RAISE,
  ],
  example: '$ baton store restore /var/backups/baton-monday --store file:/var/lib/baton',
  async run({ store: url, ...flags }: RestoreFlags, from: string) {
    const said = await context.storeMaintenance.restore(storeOf(url, context), { ...flags, from })
    sayText(context.stdout, `${said}\n`)
  },
})

interface Tool<Flags> extends Pick<CommandDefinition, 'summary' | 'flags'> {
  readonly name: string
  readonly example: string
  readonly run: (url: string, flags: Flags) => Promise<string>
}

/** A command for one store, which is named by an argument or by --store. */
function tool<Flags>(context: CliContext, { run, flags = [], ...rest }: Tool<Flags>): CommandDefinition {
  return {
    ...rest,
    args: [['[store]', 'its URL, or the directory of a file store']],
    flags: [STORE, ...flags],
    example: `$ baton store ${rest.name} ${rest.example}`,
    async run(flags: Flags & StoreFlags, named: string | undefined) {
      if (named !== undefined && flags.store !== undefined) {
        throw new UsageError('a store is named twice, by itself and by --store; name it once')
      }
      const url = storeOf(named === undefined ? flags.store : urlOf(named), context)
      sayText(context.stdout, `${await run(url, flags)}\n`)
    },
  }
}

const STORE = ['--store <url>', `which one (BATON_STORE; default: ${DEFAULT_STORE})`] as const

const RAISE = [
  '--by <count>',
  'at least as many as one resource was granted since (default: 4294967296)',
  wholeNumber,
] as const

function storeOf(url: string | undefined, { env }: CliContext): string {
  return url ?? (env.BATON_STORE || DEFAULT_STORE)
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new UsageError(`'${text}' is not a number of fences; use a whole number from 1 on, e.g. --by 1000000`)
}

/** A name without a scheme is the directory of a file store. */
function urlOf(named: string): string {
  return /^[a-z][a-z0-9+.-]+:/.test(named) ? named : `file:${named}`
}
