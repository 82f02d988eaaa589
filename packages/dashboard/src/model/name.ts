/** A resource in its namespace, as one text: neither may have a line break in it. */
export type ResourceName = string

export interface Address {
  readonly namespace: string
  readonly resource: string
}

export function nameOf({ namespace, resource }: Address): ResourceName {
  return `${namespace}\n${resource}`
}

export function addressOf(name: ResourceName): Address {
  const at = name.indexOf('\n')
  return { namespace: name.slice(0, at), resource: name.slice(at + 1) }
}
