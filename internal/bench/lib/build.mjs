// The parts of a build that benchmarks run.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../../', import.meta.url))

/** What `npm run build` leaves in a checkout: the command line, and the library with `connect` and `open`. */
export function buildIn(checkout) {
  const dist = join(checkout, 'packages/baton-lock/dist')
  return { main: join(dist, 'main.js'), library: join(dist, 'index.js') }
}

/** The build of this checkout. */
export const build = buildIn(root)
