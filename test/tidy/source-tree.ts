import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parseSync } from '@swc/core'
import { type Manifest, sourceOf } from './entries.ts'

/** An import of another file: these names, or all names that the importing file mentions. */
export interface Taken {
  readonly from: string
  readonly names: readonly string[] | 'mentioned'
}

export interface SourceFile {
  readonly path: string
  readonly takes: readonly Taken[]
  /** Modules that are no files of the repository: packages of npm, `node:` modules, style sheets. */
  readonly packages: ReadonlySet<string>
  /** Exported names. A re-exported name has its origin. */
  readonly exports: ReadonlyMap<string, { readonly from: string; readonly name: string } | undefined>
  /** The files of `export * from`. */
  readonly stars: readonly string[]
  readonly identifiers: ReadonlySet<string>
  /** Such as `Date.now`, and `new Date()` without arguments. */
  readonly members: ReadonlySet<string>
}

/** By path from the root of the repository. */
export type SourceTree = ReadonlyMap<string, SourceFile>

const SOURCE = /\.(tsx?|mjs)$/
const MANIFEST = /^[^/]+\/[^/]+\/package\.json$/
const NOT_OURS = /\b(node_modules|dist)\//

/** Parses the sources below these folders of the repository. */
export function readTree(root: string, folders: readonly string[]): SourceTree {
  const paths = folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => posix.join(folder, path)),
    )
    .filter((path) => !NOT_OURS.test(path) && (SOURCE.test(path) || MANIFEST.test(path)))
  return treeOf(Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')])))
}

/** Parses these texts, by path. A package.json says what can be imported by its name. */
export function treeOf(texts: Readonly<Record<string, string>>): SourceTree {
  const paths = Object.keys(texts)
  const workspaces = new Workspaces(
    paths.filter((path) => MANIFEST.test(path)).map((path) => [posix.dirname(path), JSON.parse(texts[path]!)]),
  )
  return new Map(
    paths.filter((path) => SOURCE.test(path)).map((path) => [path, sourceFile(path, texts[path]!, workspaces)]),
  )
}

/** Finds the files behind names such as `@baton-lock/core/policy`. */
class Workspaces {
  readonly #manifests: readonly (readonly [folder: string, manifest: Manifest])[]

  constructor(manifests: readonly (readonly [string, Manifest])[]) {
    this.#manifests = manifests
  }

  /** `undefined` if the specifier belongs to no workspace. */
  fileOf(specifier: string): string | undefined {
    for (const [folder, { name, exports = {} }] of this.#manifests) {
      if (specifier !== name && !specifier.startsWith(`${name}/`)) continue
      const subpath = `.${specifier.slice(name.length)}`
      const source = sourceOf(exports[subpath] ?? exports['./*'] ?? {})
      if (source !== undefined) return posix.join(folder, source.replace('*', subpath.slice('./'.length)))
    }
    return undefined
  }
}

function sourceFile(path: string, text: string, workspaces: Workspaces): SourceFile {
  const found = new Found(path, workspaces)
  const syntax = /\.tsx?$/.test(path) ? 'typescript' : 'ecmascript'
  found.visit(parseSync(text, { syntax, tsx: path.endsWith('.tsx'), target: 'es2022' }))
  return found
}

// biome-ignore lint/suspicious/noExplicitAny: the nodes of a syntax tree, told apart by their type.
type Node = any

/** Collects the facts that the checks need from a syntax tree. */
class Found implements SourceFile {
  readonly path: string
  readonly #workspaces: Workspaces
  readonly takes: Taken[] = []
  readonly packages = new Set<string>()
  readonly exports = new Map<string, { from: string; name: string } | undefined>()
  readonly stars: string[] = []
  readonly identifiers = new Set<string>()
  readonly members = new Set<string>()

  constructor(path: string, workspaces: Workspaces) {
    this.path = path
    this.#workspaces = workspaces
  }

  visit(node: Node): void {
    if (Array.isArray(node)) for (const each of node) this.visit(each)
    else if (node !== null && typeof node === 'object') {
      this.#note(node)
      for (const each of Object.values(node)) this.visit(each)
    }
  }

  #note(node: Node): void {
    switch (node.type) {
      case 'ImportDeclaration':
        this.#noteImport(node)
        break
      case 'ExportNamedDeclaration':
        this.#noteExports(node)
        break
      case 'ExportAllDeclaration':
        this.#withFile(node.source.value, (from) => this.stars.push(from))
        break
      case 'ExportDeclaration':
        for (const name of namesOf(node.declaration)) this.exports.set(name, undefined)
        break
      case 'CallExpression':
        if (node.callee.type === 'Import') this.#noteWhole(node.arguments[0].expression)
        break
      case 'TsImportType':
        this.#noteWhole(node.argument)
        break
      case 'Identifier':
      case 'PrivateName':
        this.identifiers.add(node.value)
        break
      case 'MemberExpression':
        this.members.add(`${node.object.value}.${node.property.value}`)
        break
      case 'NewExpression':
        if (node.arguments?.length === 0) this.members.add(`new ${node.callee.value}()`)
    }
  }

  #noteImport({ source, specifiers }: Node): void {
    const isWhole = specifiers.some((each: Node) => each.type === 'ImportNamespaceSpecifier')
    const names = specifiers.map((each: Node) =>
      each.type === 'ImportDefaultSpecifier' ? 'default' : (each.imported ?? each.local).value,
    )
    this.#withFile(source.value, (from) => this.takes.push({ from, names: isWhole ? 'mentioned' : names }))
  }

  #noteExports({ source, specifiers }: Node): void {
    for (const { orig, exported } of specifiers) {
      const name = (exported ?? orig).value
      this.exports.set(name, undefined)
      if (source) this.#withFile(source.value, (from) => this.exports.set(name, { from, name: orig.value }))
    }
  }

  #noteWhole(specifier: Node): void {
    if (specifier.type === 'StringLiteral')
      this.#withFile(specifier.value, (from) => this.takes.push({ from, names: 'mentioned' }))
  }

  /** Calls back with the file that a module is, if it is one of the repository. */
  #withFile(specifier: string, note: (from: string) => void): void {
    const file = specifier.startsWith('.')
      ? posix.join(posix.dirname(this.path), specifier)
      : this.#workspaces.fileOf(specifier)
    if (file !== undefined && SOURCE.test(file)) note(file)
    else this.packages.add(specifier)
  }
}

function namesOf(declaration: Node): string[] {
  if (declaration.type === 'VariableDeclaration') return declaration.declarations.flatMap(({ id }: Node) => boundIn(id))
  return [(declaration.identifier ?? declaration.id).value]
}

/** The names that `const { a, b: [c] } = …` declares. */
function boundIn(pattern: Node): string[] {
  if (pattern.type === 'Identifier') return [pattern.value]
  if (pattern.type === 'ArrayPattern') return pattern.elements.flatMap((each: Node) => (each ? boundIn(each) : []))
  return pattern.properties.flatMap((each: Node) => boundIn(each.value ?? each.key))
}
