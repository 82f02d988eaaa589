import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MAIN, openFolder, type Running, startProgram } from './cli-process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const command = fileURLToPath(new URL('./shell-command.mjs', import.meta.url))

/** What the lines of a page need of curl, which is not everywhere. */
const CURL = `const [url, , body] = process.argv.slice(2).filter((arg) => arg !== '-s')
fetch('http://' + url, { method: 'POST', body }).then(async (reply) => console.log(await reply.text()))`

/** A folder in which the commands of a page can be run as they stand there, with what they call beside Baton. */
export class PageShell {
  readonly #folder = openFolder()
  readonly #env: NodeJS.ProcessEnv

  /** `scripts`: what the page calls, by name, as lines of sh. */
  constructor(env: NodeJS.ProcessEnv, scripts: Readonly<Record<string, string>>) {
    mkdirSync(this.path('bin'))
    const standIn = (name: string) => `exec '${process.execPath}' '${command}' ${name} '${root}' "$@"`
    this.#write('bin/npm', standIn('npm'))
    const real = `exec '${process.execPath}' '${MAIN}' "$@"`
    this.#write('bin/baton', `case "$1" in serve) ${standIn('baton')} ;; *) ${real} ;; esac`)
    writeFileSync(this.path('bin/curl'), `#!${process.execPath}\n${CURL}\n`, { mode: 0o755 })
    // As in a project that has installed it.
    mkdirSync(this.path('node_modules/.bin'), { recursive: true })
    symlinkSync(join(root, 'packages/baton-lock'), this.path('node_modules/baton-lock'))
    symlinkSync('../baton-lock/dist/main.js', this.path('node_modules/.bin/baton'))
    for (const [name, text] of Object.entries(scripts)) this.#write(name, text)
    const prefix = { npm_config_prefix: this.path('prefix') }
    this.#env = { ...env, ...prefix, PATH: `${this.path('bin')}:${process.env.PATH}` }
  }

  path(name: string): string {
    return this.#folder.path(name)
  }

  read(name: string): string {
    return this.#folder.read(name)
  }

  /** As somebody does who copies it into a shell that stops at the first error. */
  start(text: string, env: NodeJS.ProcessEnv = {}): Running {
    return startProgram('/bin/sh', ['-e', '-c', text], { env: { ...this.#env, ...env }, cwd: this.path('.') })
  }

  remove(): void {
    this.#folder.remove()
  }

  #write(name: string, text: string): void {
    writeFileSync(this.path(name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  }
}
