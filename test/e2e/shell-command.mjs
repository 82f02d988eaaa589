// `baton serve`, `baton demo` and `npm` for the lines of a page: the real ones. But servers stop once they have answered, as nobody else would stop them; with
// KEEP_SERVER they do not.
import { spawn, spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'

const [name, root, ...args] = process.argv.slice(2)
// Ports of a page may be taken on this machine.
const own = args.map((arg, index) => (args[index - 1] === '--port' ? '0' : arg))
const env = { ...process.env, PORT: '0' }

const isServer = name === 'baton' ? own[0] === 'serve' : own[0] === 'start'
if (isServer) process.exit(await serveBriefly())
process.exit(name === 'baton' ? baton() : npm())

/** The demo, in seconds. */
function baton() {
  return run(process.execPath, [`${root}/dist/main.js`, ...own, '--fast'])
}

function npm() {
  // Whoever runs this is a part of it.
  if (own[0] === 'test') return 0
  // Everything but the installing itself, which would pull the packages from under other tests.
  if (own[0] === 'ci') return run('npm', ['ci', '--dry-run', '--offline', '--ignore-scripts', '--silent'])
  return run('npm', own)
}

function run(program, args) {
  const isNpm = program === 'npm'
  const { status } = spawnSync(program, args, {
    stdio: 'inherit',
    env: isNpm ? realPath() : env,
    cwd: isNpm ? root : undefined,
  })
  return status ?? 1
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
    name === 'baton' ? [process.execPath, `${root}/dist/main.js`, ...own] : ['npm', '--silent', ...own]
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
