// The type declarations of a package in one file per entry, with those of the private workspaces that it uses.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import { entriesOf, installedWith } from './bundle.mjs'

/** Compiles the declarations of all packages into `folder`; returns whether that went well. */
export function emitDeclarations(folder) {
  rmSync(folder, { recursive: true, force: true })
  const args = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', folder]
  return spawnSync(process.execPath, args, { stdio: 'inherit' }).status === 0
}

/** Bundles them for one package, a file per entry: `.d.ts` for ES modules, the same as `.d.cts` for CommonJS. */
export async function bundleDeclarations(folder, { emitted, outDir }) {
  for (const [name, source] of Object.entries(entriesOf(folder, { typed: true }))) {
    const file = join(outDir, `${name}.d.ts`)
    await bundleEntry(join(emitted, source.replace(/\.ts$/, '.d.ts')), {
      file,
      installed: installedWith(folder),
      emitted,
    })
    copyFileSync(file, file.replace(/\.ts$/, '.cts'))
  }
}

async function bundleEntry(input, { file, installed, emitted }) {
  const build = await rollup({
    input,
    external: (id) => id.startsWith('node:') || installed.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [workspaces(emitted), dts()],
    onwarn: ({ code, message }) => {
      if (code !== 'CIRCULAR_DEPENDENCY') throw new Error(message)
    },
  })
  await build.write({ file, format: 'es' })
  await build.close()
}

/** `@baton-lock/core/policy` is the declaration of packages/core/src/policy.ts. */
function workspaces(emitted) {
  return {
    name: 'workspaces',
    resolveId(id) {
      const [, name, path = 'index'] = /^@baton-lock\/([^/]+)(?:\/(.+))?$/.exec(id) ?? []
      if (name === undefined) return undefined
      const base = resolve(emitted, 'packages', name, 'src', path)
      return [`${base}.d.ts`, `${base}/index.d.ts`].find((each) => existsSync(each))
    },
  }
}
