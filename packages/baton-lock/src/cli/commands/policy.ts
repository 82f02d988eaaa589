import { type Baton, RefusedError } from '@baton-lock/client'
import { completePolicy, type SaidPolicy, saidIn } from '@baton-lock/core'
import { errors, withEscapes } from '@baton-lock/protocol'
import { stringify } from 'smol-toml'
import type { DefineCommand } from '../command.ts'
import { type ConnectionFlags, namespaceOf, withBaton } from '../connection.ts'
import { operationColumns, switches } from '../policy/columns.ts'
import { merged, policyDiff } from '../policy/diff.ts'
import { checkedSaid, readPolicyFile, saidByRows } from '../policy/said.ts'
import { say, sayJson } from '../print/say.ts'

interface ShowFlags extends ConnectionFlags {
  readonly json?: boolean
}

interface ApplyFlags extends ConnectionFlags {
  readonly dryRun?: boolean
  readonly prune?: boolean
}

export const policy: DefineCommand = (context) => ({
  name: 'policy',
  summary: 'Read and change the policy table.',
  commands: [show(context), set(context), apply(context)],
})

const show: DefineCommand = (context) => ({
  name: 'show',
  summary: 'the policy as it is',
  flags: [['--json', 'as JSON, with its version']],
  connects: true,
  example: '$ baton policy show > policy.toml',
  async run(flags: ShowFlags) {
    const { version, policy } = await withBaton(flags, context, (baton) => baton.policy())
    const toml = withEscapes(stringify({ policy }).trimEnd())
    if (flags.json) sayJson(context.stdout, { version, policy }, 2)
    else say(context.stdout, `# version ${version}`, ...toml.split('\n'))
  },
})

const DRY_RUN = ['--dry-run', 'only say what it would change'] as const

const set: DefineCommand = (context) => ({
  name: 'set',
  summary: 'change columns of the policy, and leave the others as they are',
  args: [['<row...>', '[OPERATION.]COLUMN=VALUE; an operation that there is not yet becomes a new row']],
  flags: [DRY_RUN],
  connects: true,
  notes: `Columns of an operation: ${Object.keys(operationColumns).join(', ')}.
Of the namespace itself: ${Object.keys(switches).join(', ')}.
Those that end in Ms take durations (1h), contradicts takes operations by commas.
A row is removed by \`baton policy apply FILE --prune\` with a file that does not have it.`,
  example: `$ baton policy set compile.waitersOnSuccess=skip compile.keepMs=1h compile.attempts=3
$ baton policy set exclusion=resource --namespace build`,
  async run(flags: ApplyFlags, rows: string[]) {
    const said = checkedSaid(saidByRows(rows, namespaceOf(flags, context) ?? 'default'), 'the policy')
    say(context.stdout, ...(await withBaton(flags, context, (baton) => change(baton, { said, ...flags }))))
  },
})

const apply: DefineCommand = (context) => ({
  name: 'apply',
  summary: 'change the policy to what a file says, TOML or JSON; what the file does not name stays',
  args: [['<file>', 'as `baton policy show` prints it']],
  flags: [
    DRY_RUN,
    ['--prune', 'the policy is exactly that of the file: what it does not name is as built in, or gone'],
  ],
  connects: true,
  notes: `A row is removed with --prune: \`baton policy show > policy.toml\`, take it out there, and apply that file.
A JSON file with a "version" is applied only if the policy still has that version.`,
  example: `$ baton policy apply policy.toml --dry-run

# policy.toml
[policy.namespaces.default.operations.compile]
waitersOnSuccess = "skip"    # done once: those who waited skip (default: the next one is granted)
keepMs = 3600000             # and so do those who come within the hour
attempts = 3                 # three failures in a row end the queue`,
  async run(flags: ApplyFlags, file: string) {
    const wanted = readPolicyFile(file)
    say(context.stdout, ...(await withBaton(flags, context, (baton) => change(baton, { ...wanted, ...flags }))))
  },
})

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
