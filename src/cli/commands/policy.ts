import { stringify } from 'smol-toml'
import type { Baton } from '../../client/api.ts'
import { RefusedError } from '../../client/errors.ts'
import { completePolicy, type SaidPolicy, saidIn } from '../../core/index.ts'
import { errors, withEscapes } from '../../protocol/index.ts'
import { addConnectionOptions, type ConnectionFlags, namespaceOf, withBaton } from '../connection.ts'
import type { AddCommand } from '../context.ts'
import { EXIT } from '../exit.ts'
import { operationColumns, switches } from '../policy/columns.ts'
import { policyDiff } from '../policy/diff.ts'
import { checkedSaid, readPolicyFile } from '../policy/file.ts'
import { merged } from '../policy/merge.ts'
import { saidByRows } from '../policy/said-rows.ts'
import { say, sayJson } from '../print/say.ts'

interface ShowFlags extends ConnectionFlags {
  readonly json?: boolean
}

interface ApplyFlags extends ConnectionFlags {
  readonly dryRun?: boolean
  readonly prune?: boolean
}

export const add: AddCommand = (program, context, done) => {
  const policy = program.command('policy').description('Read and change the policy table.')
  addShow(policy, context, done)
  addSet(policy, context, done)
  addApply(policy, context, done)
}

const addShow: AddCommand = (policy, context, done) => {
  const show = policy.command('show').description('the policy as it is').option('--json', 'as JSON, with its version')
  addConnectionOptions(show, context)
    .addHelpText('after', '\nExample:\n  $ baton policy show > policy.toml')
    .action(async (flags: ShowFlags) => {
      const present = await withBaton(flags, context, (baton) => baton.policy())
      const { version, policy } = present
      const toml = withEscapes(stringify({ policy }).trimEnd())
      if (flags.json) sayJson(context.stdout, { version, policy }, 2)
      else say(context.stdout, `# version ${version}`, ...toml.split('\n'))
      done(EXIT.ok)
    })
}

const addSet: AddCommand = (policy, context, done) => {
  const set = policy
    .command('set')
    .description('change columns of the policy, and leave the others as they are')
    .argument('<row...>', '[OPERATION.]COLUMN=VALUE; an operation that there is not yet becomes a new row')
    .option('--dry-run', 'only say what it would change')
  addConnectionOptions(set, context)
    .addHelpText(
      'after',
      `
Columns of an operation: ${Object.keys(operationColumns).join(', ')}.
Of the namespace itself: ${Object.keys(switches).join(', ')}.
Those that end in Ms take durations (1h), contradicts takes operations by commas.
A row is removed by \`baton policy apply FILE --prune\` with a file that does not have it.

Example:
  $ baton policy set compile.waitersOnSuccess=skip compile.keepMs=1h compile.attempts=3
  $ baton policy set exclusion=resource --namespace build`,
    )
    .action(async (rows: string[], flags: ApplyFlags) => {
      const said = checkedSaid(saidByRows(rows, namespaceOf(flags, context) ?? 'default'), 'the policy')
      const lines = await withBaton(flags, context, (baton) => change(baton, { said, ...flags }))
      say(context.stdout, ...lines)
      done(EXIT.ok)
    })
}

const addApply: AddCommand = (policy, context, done) => {
  const apply = policy
    .command('apply')
    .description('change the policy to what a file says, TOML or JSON; what the file does not name stays')
    .argument('<file>', 'as `baton policy show` prints it')
    .option('--dry-run', 'only say what it would change')
    .option('--prune', 'the policy is exactly that of the file: what it does not name is as built in, or gone')
  addConnectionOptions(apply, context)
    .addHelpText(
      'after',
      `
A row is removed with --prune: \`baton policy show > policy.toml\`, take it out there, and apply that file.
A JSON file with a "version" is applied only if the policy still has that version.

Example:
  $ baton policy apply policy.toml --dry-run

  # policy.toml
  [policy.namespaces.default.operations.compile]
  waitersOnSuccess = "skip"    # done once: those who waited skip (default: the next one is granted)
  keepMs = 3600000             # and so do those who come within the hour
  attempts = 3                 # three failures in a row end the queue`,
    )
    .action(async (file: string, flags: ApplyFlags) => {
      const wanted = readPolicyFile(file)
      const lines = await withBaton(flags, context, (baton) => change(baton, { ...wanted, ...flags }))
      say(context.stdout, ...lines)
      done(EXIT.ok)
    })
}

interface Wanted extends ApplyFlags {
  readonly said: SaidPolicy
  /** That the present policy has to have; absent: any. */
  readonly version?: number | undefined
}

/** Changes the policy, unless there is nothing to change or nothing is to be changed. Says what. */
async function change(baton: Baton, { said, version, dryRun = false, prune = false }: Wanted): Promise<string[]> {
  const present = await baton.policy()
  if (version !== undefined && version !== present.version) {
    throw new RefusedError('policy-changed', errors['policy-changed'].meaning)
  }
  const next = prune ? said : merged(saidIn(present.policy), said)
  const diff = policyDiff(present.policy, completePolicy(next))
  if (diff.length === 0) return [`nothing to change: the policy stays at version ${present.version}`]
  if (dryRun) return [...diff, `nothing was changed (--dry-run): the policy is at version ${present.version}`]
  const applied = await baton.applyPolicy(next, present.version)
  return [...diff, `the policy is at version ${applied.version} now`]
}
