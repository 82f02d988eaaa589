import type { Command } from 'commander'
import type { Baton } from '../../client/api.ts'
import type { ResourceView } from '../../core/index.ts'
import { addConnectionOptions, type ConnectionFlags, withBaton } from '../connection.ts'
import type { AddCommand, CliContext } from '../context.ts'
import { EXIT } from '../exit.ts'
import { columns } from '../print/columns.ts'
import { say, sayJson } from '../print/say.ts'

interface ListFlags extends ConnectionFlags {
  readonly json?: boolean
}

export const add: AddCommand = (program, context, done) => {
  const refs = program.command('refs').description('Which nodes use which resource.')
  addList(refs, context, done)
  addChange(refs, context, done, {
    name: 'add',
    description: 'say that a node uses a resource',
    example: 'refs add sha256:abc --node node-a',
  })
  addChange(refs, context, done, {
    name: 'release',
    description: 'say that a node uses a resource no longer',
    example: 'refs release sha256:abc --node node-a',
  })
  addDropNode(refs, context, done)
}

const addList: AddCommand = (refs, context, done) => {
  const list = refs
    .command('list')
    .description('the nodes that use a resource, one a line, or all resources that are used')
    .argument('[resource]', 'where absent: every resource that is used, one a line, and its nodes')
    .option('--json', 'an array of node ids; of all: of { namespace, resource, references }')
  addConnectionOptions(list, context)
    .addHelpText(
      'after',
      `
Without a resource and without --namespace: in all namespaces (NAMESPACE/RESOURCE where it is not the default one).

Example:
  $ baton refs list sha256:abc
  node-a
  node-b
  $ baton refs list
  sha256:abc  node-a, node-b
  sha256:def  node-a`,
    )
    .action(async (resource: string | undefined, flags: ListFlags) => {
      const { value, lines } = await withBaton(flags, context, (baton) =>
        resource === undefined ? allUsed(baton, flags) : usersOf(baton, resource),
      )
      if (lines.length === 0 && !flags.json) say(context.stderr, nobodyUses(resource, flags))
      if (flags.json) sayJson(context.stdout, value)
      else say(context.stdout, ...lines)
      done(EXIT.ok)
    })
}

/** An empty list may be that of another namespace than was meant. */
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
  const rows = value.map((view) => [
    view.namespace === 'default' ? view.resource : `${view.namespace}/${view.resource}`,
    view.references.join(', '),
  ])
  return { value, lines: columns(rows) }
}

interface Change {
  readonly name: 'add' | 'release'
  readonly description: string
  readonly example: string
}

function addChange(refs: Command, context: CliContext, done: (code: number) => void, change: Change): void {
  const command = refs
    .command(change.name)
    .description(change.description)
    .argument('<resource>')
    .option('--node <node>', 'which node (BATON_NODE; default: this machine)')
  addConnectionOptions(command, context)
    .addHelpText('after', `\nExample:\n  $ baton ${change.example}`)
    .action(async (resource: string, flags: ConnectionFlags) => {
      await withBaton(flags, context, async (baton) => {
        const count = await baton.references[change.name](resource, { node: baton.node })
        const verb = change.name === 'add' ? 'uses' : 'no longer uses'
        say(context.stdout, `${baton.node} ${verb} ${resource}: ${counted(count, 'reference')} now`)
      })
      done(EXIT.ok)
    })
}

const addDropNode: AddCommand = (refs, context, done) => {
  const dropNode = refs
    .command('drop-node')
    .description('drop all references of a node that is gone for good')
    .argument('<node>')
  addConnectionOptions(dropNode, context)
    .addHelpText('after', '\nWithout --namespace: in all of them.\n\nExample:\n  $ baton refs drop-node node-a')
    .action(async (node: string, flags: ConnectionFlags) => {
      const { namespace } = flags
      const count = await withBaton(flags, context, (baton) => baton.references.dropNode(node, { namespace }))
      say(context.stdout, `dropped ${node} from ${counted(count, 'resource')}`)
      done(EXIT.ok)
    })
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
