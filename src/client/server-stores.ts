/**
 * Which store each server is over, by what it said last. Servers that a client moves between have to be over the same one:
 * where they are not, its user is told, once for each pair of servers.
 */
export class ServerStores {
  readonly #notice: (notice: string) => void
  readonly #stores = new Map<string, string>()
  readonly #told = new Set<string>()

  constructor(notice: (notice: string) => void) {
    this.#notice = notice
  }

  note(server: URL, store: string): void {
    const name = server.href.replace(/\/$/, '')
    if (this.#stores.get(name) === store) return
    this.#stores.set(name, store)
    for (const [other, othersStore] of this.#stores) if (othersStore !== store) this.#tell(other, name)
  }

  #tell(one: string, other: string): void {
    const pair = JSON.stringify([one, other].sort())
    if (this.#told.has(pair)) return
    this.#told.add(pair)
    this.#notice(
      `${one} and ${other} are over different stores: locks do not exclude one another across them; ` +
        'give both servers the same store (`baton serve --store URL`), or name only one of them',
    )
  }
}
