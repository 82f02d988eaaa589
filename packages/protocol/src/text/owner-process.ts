interface Actor {
  readonly node: string
  readonly owner: string
}

/** How the owners of a process begin. Hosts have short names, but may be called anything. */
export function ownerPrefix(pid: number, host: string): string {
  return `${pid}@${host.replaceAll(/[^\w.-]/g, '').slice(0, 64)}/`
}

/** The process of an owner, as people say it; `undefined` if whoever chose the owner did not say. */
function processOf({ node, owner }: Actor): string | undefined {
  const [, pid, host] = /^(\d{1,10})@([\w.-]{0,64})\//.exec(owner) ?? []
  if (pid === undefined) return undefined
  return host === '' || host === node ? `pid ${pid}` : `pid ${pid} on ${host}`
}

/** The processes of those whose node is also the name of another process among them. */
export function processesOf<Each extends Actor>(actors: readonly Each[]): ReadonlyMap<Each, string> {
  const byNode = new Map<string, Set<string | undefined>>()
  for (const actor of actors) byNode.set(actor.node, (byNode.get(actor.node) ?? new Set()).add(processOf(actor)))
  const named = actors.flatMap((actor) => {
    const process = processOf(actor)
    return process !== undefined && byNode.get(actor.node)!.size > 1 ? [[actor, process] as const] : []
  })
  return new Map(named)
}
