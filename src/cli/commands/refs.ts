import type { Command } from 'commander'
import { addConnectionOptions, type ConnectionFlags, withBaton } from '../connection.ts'
import type { AddCommand, CliContext } from '../context.ts'
import { EXIT } from '../exit.ts'

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
    .description('the nodes that use a resource, one a line')
    .argument('<resource>')
    .option('--json', 'an array of node ids')
  addConnectionOptions(list, context)
    .addHelpText('after', '\nExample:\n  $ baton refs list sha256:abc')
    .action(async (resource: string, flags: ListFlags) => {
      const nodes = await withBaton(flags, context, (baton) => baton.references.list(resource))
      const text = flags.json ? `${JSON.stringify(nodes)}\n` : nodes.map((node) => `${node}\n`).join('')
      context.stdout.write(text)
      done(EXIT.ok)
    })
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
        context.stdout.write(`${baton.node} ${verb} ${resource}: ${counted(count, 'reference')} now\n`)
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
      context.stdout.write(`dropped ${node} from ${counted(count, 'resource')}\n`)
      done(EXIT.ok)
    })
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
