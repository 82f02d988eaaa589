// `baton serve` and `npm` for the lines of a page: the real ones. But servers stop once they have answered, as nobody else would stop them; with
// KEEP_SERVER they do not.
import { spawn, spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'

const [name, root, ...args] = process.argv.slice(2)
// Ports of a page may be taken on this machine.
const own = args.map((arg, index) => (args[index - 1] === '--port' ? '0' : arg))
const env = { ...process.env, PORT: '0' }

const isServer = name === 'baton' ? own[0] === 'serve' : own[0] === 'start'
if (isServer) process.exit(await serveBriefly())
process.exit(npm())

function npm() {
  // Whoever runs this is a part of it.
  if (own[0] === 'test') return 0
  // Everything but the installing itself, which would pull the packages from under other tests.
  const command = own[0] === 'ci' ? ['ci', '--dry-run', '--offline', '--ignore-scripts', '--silent'] : own
  return spawnSync('npm', command, { stdio: 'inherit', env: realPath(), cwd: root }).status ?? 1
}

/** Where the stand-ins of a page are not found. */
function realPath() {
  return {
    ...env,
    PATH: process.env.PATH.split(':')
      .filter((folder) => !folder.startsWith(tmpdir()))
      .join(':'),
  }
}

async function serveBriefly() {
  const [program, ...command] =
    name === 'baton'
      ? [process.execPath, `${root}/packages/baton-lock/dist/main.js`, ...own]
      : ['npm', '--silent', ...own]
  const server = spawn(program, command, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: name === 'npm' ? realPath() : env,
    cwd: name === 'npm' ? root : undefined,
  })
  const ended = new Promise((resolve) => server.on('exit', (code) => resolve(code ?? 1)))
  process.on('SIGTERM', () => server.kill('SIGTERM'))
  let text = ''
  for await (const chunk of server.stdout) {
    text += chunk
    const [line, url] = /^baton listening on (\S+)\n/m.exec(text) ?? []
    if (line === undefined) continue
    process.stdout.write(line)
    if (process.env.KEEP_SERVER) return ended
    const { ok } = await fetch(`${url}/readyz`)
    server.kill('SIGTERM')
    const code = await ended
    return ok ? code : 1
  }
  return ended
}
