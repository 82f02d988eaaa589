import { DEFAULT_STORE } from '../config/serve-settings.ts'
import type { AddCommand, StoreMaintenance } from '../context.ts'
import { EXIT, UsageError } from '../exit.ts'
import { sayText } from '../print/say.ts'

interface StoreFlags {
  readonly store?: string
}

type RunTool<Flags> = (url: string, flags: Flags) => Promise<string>

export const add: AddCommand = (program, context, done) => {
  const { storeMaintenance: maintenance } = context
  const store = program.command('store').description('Look after a store: a file store, or a database.')

  const addTool = <Flags>(name: keyof StoreMaintenance, run: RunTool<Flags>, description: string, example: string) =>
    store
      .command(name)
      .argument('[store]', 'its URL, or the directory of a file store')
      .description(description)
      .option('--store <url>', `which one (BATON_STORE; default: ${DEFAULT_STORE})`)
      .addHelpText('after', `\nExample:\n  $ baton store ${name} ${example}`)
      .action(async (named: string | undefined, flags: Flags & StoreFlags) => {
        if (named !== undefined && flags.store !== undefined) {
          throw new UsageError('a store is named twice, by itself and by --store; name it once')
        }
        const url = named === undefined ? flags.store : urlOf(named)
        sayText(context.stdout, `${await run(url ?? (context.env.BATON_STORE || DEFAULT_STORE), flags)}\n`)
        done(EXIT.ok)
      })

  addTool('check', maintenance.check, 'say whether a store is in order, while no server has it open', './baton-data')
  addTool(
    'repair',
    maintenance.repair,
    'go on without what is damaged: keeps what is good, puts the rest aside, says what is lost',
    './baton-data',
  )
  addTool(
    'backup',
    maintenance.backup,
    'copy a file store, while its server runs or while none does: a directory that is a store like any other',
    './baton-data --to /var/backups/baton',
  ).requiredOption('--to <dir>', 'a new directory; in one that is there, a directory named by the time')
  addTool(
    'restore',
    maintenance.restore,
    'make a store of a backup, with fences above all that was granted since it was made',
    './baton-data --from /var/backups/baton/baton-20260102T030405Z',
  )
    .requiredOption('--from <dir>', 'the backup; it is read, and not changed')
    .option('--force', 'where there is a store already: put that aside, and say where')
    .option('--as-copy', 'for a store beside the original, and not in its place: it gets an id of its own')
    .option(...RAISE)
  addTool(
    'raise-fences',
    maintenance['raise-fences'],
    'after another kind of restore: no fence is granted again that was granted since the copy was made',
    './baton-data',
  ).option(...RAISE)
  addTool<{ readonly print?: boolean }>(
    'migrate',
    (url, { print = false }) => maintenance.migrate(url, { print }),
    'bring a store to the format of this version',
    'mysql://baton:secret@db:3306/baton --print',
  ).option('--print', 'only print the statements, for whoever may change the database')
}

const RAISE = [
  '--by <count>',
  'at least as many as one resource was granted since (default: 4294967296)',
  wholeNumber,
] as const

function wholeNumber(text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new UsageError(`'${text}' is no number of fences; write a whole one from 1 on, e.g. --by 1000000`)
}

/** What has no scheme is the directory of a file store. */
function urlOf(named: string): string {
  return /^[a-z][a-z0-9+.-]+:/.test(named) ? named : `file:${named}`
}
