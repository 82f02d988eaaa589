import { stringify } from 'smol-toml'
import { z } from 'zod'
import { checked, parseToml } from '../config/file.ts'
import { readText } from '../config/read-text.ts'
import { addConnectionOptions, type ConnectionFlags, withBaton } from '../connection.ts'
import type { AddCommand } from '../context.ts'
import { EXIT, UsageError } from '../exit.ts'

interface ShowFlags extends ConnectionFlags {
  readonly json?: boolean
}

export const add: AddCommand = (program, context, done) => {
  const policy = program.command('policy').description('Read and change the policy table.')
  addShow(policy, context, done)
  addApply(policy, context, done)
}

const addShow: AddCommand = (policy, context, done) => {
  const show = policy.command('show').description('the policy as it is').option('--json', 'as JSON, with its version')
  addConnectionOptions(show, context)
    .addHelpText('after', '\nExample:\n  $ baton policy show > policy.toml')
    .action(async (flags: ShowFlags) => {
      const present = await withBaton(flags, context, (baton) => baton.policy())
      context.stdout.write(
        flags.json
          ? `${JSON.stringify({ version: present.version, policy: present.policy }, null, 2)}\n`
          : `# version ${present.version}\n${stringify({ policy: present.policy }).trimEnd()}\n`,
      )
      done(EXIT.ok)
    })
}

const addApply: AddCommand = (policy, context, done) => {
  const apply = policy
    .command('apply')
    .description('replace the policy by that of a file, TOML or JSON')
    .argument('<file>', 'as `baton policy show` prints it; what it does not say is as built in')
  addConnectionOptions(apply, context)
    .addHelpText(
      'after',
      `
A JSON file with a "version" is applied only if the policy still has that version.

Example:
  $ baton policy apply policy.toml

  # policy.toml
  [policy.namespaces.default.operations.compile]
  waitersOnSuccess = "skip"    # done once: those who waited skip (default: the next one is granted)
  keepMs = 3600000             # and so do those who come within the hour
  attempts = 3                 # three failures in a row end the queue`,
    )
    .action(async (file: string, flags: ConnectionFlags) => {
      const wanted = readPolicy(file)
      const applied = await withBaton(flags, context, async (baton) =>
        baton.applyPolicy(wanted.policy, wanted.version ?? (await baton.policy()).version),
      )
      context.stdout.write(`the policy is at version ${applied.version} now\n`)
      done(EXIT.ok)
    })
}

const fileSchema = z.union(
  [
    z.strictObject({ version: z.int().min(0).optional(), policy: z.looseObject({ namespaces: z.looseObject({}) }) }),
    z.strictObject({ namespaces: z.looseObject({}) }).transform((policy) => ({ version: undefined, policy })),
  ],
  'it should hold [policy.namespaces.NAME] tables, as `baton policy show` prints them',
)

/** What the policy itself may say is checked where it is applied: by Baton's own schema. */
function readPolicy(path: string): z.output<typeof fileSchema> {
  const text = readText(path)
  return checked(fileSchema, text.trimStart().startsWith('{') ? parseJson(text, path) : parseToml(text, path), path)
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`${path} is not JSON: ${(cause as Error).message}`, { cause })
  }
}
