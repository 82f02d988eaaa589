// Other versions of Node, from npm packages that contain the program. Installed on first use.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../node-versions', import.meta.url))

/** The path of the newest Node of a major version. */
export function nodeProgram(version) {
  if (!/^\d+(\.\d+){0,2}$/.test(version)) throw new TypeError(`${version} is no version of Node`)
  if (process.versions.node.split('.')[0] === version) return process.execPath
  const carrier = `node-${process.platform}-${process.arch}`
  const own = `${folder}/${version}`
  const program = `${own}/node_modules/${carrier}/bin/node`
  if (existsSync(program)) return program
  mkdirSync(own, { recursive: true })
  writeFileSync(`${own}/package.json`, '{ "private": true }\n')
  const args = ['install', '--no-audit', '--no-fund', '--no-save', `${carrier}@${version}`]
  const { status } = spawnSync('npm', args, { cwd: own, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0 || !existsSync(program))
    throw new Error(`Node ${version} cannot be installed: npm install ${carrier}@${version}`)
  return program
}
