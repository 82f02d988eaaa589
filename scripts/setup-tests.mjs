// What the tests need beside Node: checked, and installed where this user may (root on Debian and its kin).
import { spawnSync } from 'node:child_process'

const needed = [
  { program: 'openssl', package: 'openssl' },
  { program: 'mariadbd', package: 'mariadb-server-core' },
  // mariadb-install-db calls it, and comes without it.
  { program: 'my_print_defaults', package: 'mariadb-client-core' },
  ...(process.platform === 'linux' ? [{ program: 'strace', package: 'strace' }] : []),
]
// What only administrators run is not in everybody's path.
const PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`
const isThere = (program) => spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH } }).status === 0

let missing = needed.filter(({ program }) => !isThere(program))
if (missing.length > 0 && process.getuid?.() === 0 && isThere('apt-get')) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const packages = missing.map((each) => each.package)
  const install = () => spawnSync('apt-get', ['install', '-y', '-q', ...packages], { env, stdio: 'inherit' }).status
  if (install() !== 0) {
    spawnSync('apt-get', ['update', '-q'], { env, stdio: 'inherit' })
    install()
  }
  missing = needed.filter(({ program }) => !isThere(program))
}
for (const { program, package: name } of missing) {
  console.error(`the tests need ${program}: install it, e.g. with \`apt-get install ${name}\``)
}
process.exit(missing.length === 0 ? 0 : 1)
