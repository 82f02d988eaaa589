import type { Baton } from '@baton-lock/client'
import type { ResourceView } from '@baton-lock/core'
import { InvalidArgumentError, Option } from 'commander'
import type { CommandDefinition, DefineCommand } from '../command.ts'
import { type ConnectionFlags, withBaton } from '../connection.ts'
import type { CliContext } from '../context.ts'
import { columns } from '../print/layout.ts'
import { qualified } from '../print/resource-view.ts'
import { say, sayJson } from '../print/say.ts'

interface ForgetFlags extends ConnectionFlags {
  readonly operation: string
}

export const forget: DefineCommand = (context) => ({
  name: 'forget',
  summary: 'Drop a success that is kept, so that the work is done again.',
  args: [['<resource>', 'the name of the work, or e.g. a layer digest']],
  flags: [new Option('--operation <operation>', 'what was done to it').default('once')],
  connects: true,
  notes: 'References stay as they are (`baton refs`).',
  example: '$ baton forget nightly',
  async run({ operation, ...flags }: ForgetFlags, resource: string) {
    const { wasKept, left } = await withBaton(flags, context, async (baton) => ({
      wasKept: await baton.forget(resource, { operation }),
      left: await baton.status(resource),
    }))
    say(context.stdout, wasKept ? `forgot ${operation} ${resource}` : `nothing was kept of ${operation} ${resource}`)
    for (const sentence of stillThere(left, { operation, wasKept })) say(context.stderr, `baton: ${sentence}`)
  },
})

/** Why the work may still be skipped. */
function stillThere(
  { resource, kept, references }: ResourceView,
  { operation, wasKept }: { readonly operation: string; readonly wasKept: boolean },
): string[] {
  const others = wasKept ? [] : kept.filter((success) => success.operation !== operation)
  const sentences = others.map((other) => `${other.operation} is kept: --operation ${other.operation} forgets it`)
  if (operation !== 'pull' || references.length === 0) return sentences
  const users = references.length === 1 ? '1 node references' : `${references.length} nodes reference`
  return [...sentences, `${users} ${resource}: a pull is still skipped`]
}

interface RevokeFlags extends ConnectionFlags {
  readonly fence?: number
}

export const revoke: DefineCommand = (context) => ({
  name: 'revoke',
  summary: 'Take a grant away from its holder; the next in line goes on.',
  args: [
    ['<operation>', 'e.g. pull'],
    ['<resource>', 'e.g. a layer digest'],
  ],
  flags: [['--fence <n>', 'only if the grant has this fence still', fenceOf]],
  connects: true,
  notes: 'The holder is told, but it may still be running: only the fence keeps out what it writes late.',
  example: '$ baton revoke pull sha256:abc --fence 12',
  async run({ fence, ...flags }: RevokeFlags, operation: string, resource: string) {
    const revoked = await withBaton(flags, context, (baton) => baton.revoke(operation, resource, { fence }))
    say(context.stdout, `revoked ${operation} ${resource} from ${revoked.node} (fence ${revoked.fence})`)
  },
})

function fenceOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('A fence is a whole number, as `baton status` shows it.')
  return Number(text)
}

export const refs: DefineCommand = (context) => ({
  name: 'refs',
  summary: 'Which nodes use which resource.',
  commands: [
    listReferences(context),
    changeReference(context, 'add', 'say that a node uses a resource'),
    changeReference(context, 'release', 'say that a node uses a resource no longer'),
    dropNode(context),
  ],
})

interface ListFlags extends ConnectionFlags {
  readonly json?: boolean
}

const listReferences: DefineCommand = (context) => ({
  name: 'list',
  summary: 'the nodes that use a resource, one a line, or all resources that are used',
  args: [['[resource]', 'where absent: every resource that is used, one a line, and its nodes']],
  flags: [['--json', 'an array of node ids; of all: of { namespace, resource, references }']],
  connects: true,
  notes:
    'Without a resource and without --namespace: in all namespaces (NAMESPACE/RESOURCE where it is not the default one).',
  example:
    '$ baton refs list sha256:abc\nnode-a\nnode-b\n$ baton refs list\nsha256:abc  node-a, node-b\nsha256:def  node-a',
  async run(flags: ListFlags, resource: string | undefined) {
    const { value, lines } = await withBaton(flags, context, (baton) =>
      resource === undefined ? allUsed(baton, flags) : usersOf(baton, resource),
    )
    if (lines.length === 0 && !flags.json) say(context.stderr, nobodyUses(resource, flags))
    if (flags.json) sayJson(context.stdout, value)
    else say(context.stdout, ...lines)
  },
})

/** Names the namespace, which may not be the one that was meant. */
function nobodyUses(resource: string | undefined, { namespace }: ListFlags): string {
  const where = resource === undefined && namespace === undefined ? '' : ` in the namespace ${namespace ?? 'default'}`
  return `baton: no node uses ${resource ?? 'anything'}${where}`
}

/** For programs, and for people. */
interface Listed {
  readonly value: unknown
  readonly lines: readonly string[]
}

async function usersOf(baton: Baton, resource: string): Promise<Listed> {
  const nodes = await baton.references.list(resource)
  return { value: nodes, lines: nodes }
}

async function allUsed(baton: Baton, { namespace }: ListFlags): Promise<Listed> {
  const value: Pick<ResourceView, 'namespace' | 'resource' | 'references'>[] = []
  for await (const view of baton.list({ namespace })) {
    const { resource, references } = view
    if (references.length > 0) value.push({ namespace: view.namespace, resource, references })
  }
  return { value, lines: columns(value.map((view) => [qualified(view), view.references.join(', ')])) }
}

function changeReference(context: CliContext, name: 'add' | 'release', summary: string): CommandDefinition {
  return {
    name,
    summary,
    args: [['<resource>']],
    flags: [['--node <node>', 'which node (BATON_NODE; default: this machine)']],
    connects: true,
    example: `$ baton refs ${name} sha256:abc --node node-a`,
    run: (flags: ConnectionFlags, resource: string) =>
      withBaton(flags, context, async (baton) => {
        const count = await baton.references[name](resource, { node: baton.node })
        const verb = name === 'add' ? 'uses' : 'no longer uses'
        say(context.stdout, `${baton.node} ${verb} ${resource}: ${counted(count, 'reference')} now`)
      }),
  }
}

const dropNode: DefineCommand = (context) => ({
  name: 'drop-node',
  summary: 'drop all references of a node that is gone for good',
  args: [['<node>']],
  connects: true,
  notes: 'Without --namespace: in all of them.',
  example: '$ baton refs drop-node node-a',
  async run(flags: ConnectionFlags, node: string) {
    const { namespace } = flags
    const count = await withBaton(flags, context, (baton) => baton.references.dropNode(node, { namespace }))
    say(context.stdout, `dropped ${node} from ${counted(count, 'resource')}`)
  },
})

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
