import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { type Module, parseSync } from '@swc/core'

/** What a file takes from another one: some names, or whatever of it is mentioned. */
export interface Taken {
  readonly from: string
  readonly names: readonly string[] | 'mentioned'
}

export interface SourceFile {
  readonly path: string
  readonly lines: number
  /** What it declares, each with whether a doc comment stands above it; members of types as `Type.member`. */
  readonly declarations: ReadonlyMap<string, boolean>
  readonly takes: readonly Taken[]
  /** The packages that it imports. */
  readonly packages: ReadonlySet<string>
  /** Exported names, and for those that only pass through: from which file, under which name. */
  readonly exports: ReadonlyMap<string, { readonly from: string; readonly name: string } | undefined>
  /** Files all of whose exports pass through. */
  readonly stars: readonly string[]
  readonly identifiers: ReadonlySet<string>
  /** Texts in quotes, and the pieces of templates. */
  readonly strings: readonly string[]
  /** Like `Date.now`; `new Date()` where nothing is passed. */
  readonly members: ReadonlySet<string>
}

/** By path from the root of the project. */
export type SourceTree = ReadonlyMap<string, SourceFile>

const SOURCE = /\.(tsx?|mjs)$/
/** Of packages that the benchmarks have installed for themselves. */
const FOREIGN = /\bnode_modules\//

export function readTree(root: string, folders: readonly string[]): SourceTree {
  const paths = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => posix.join(folder, path)),
  )
  const own = paths.filter((path) => SOURCE.test(path) && !FOREIGN.test(path))
  const texts = own.map((path) => [path, readFileSync(join(root, path), 'utf8')])
  return treeOf(Object.fromEntries(texts))
}

export function treeOf(texts: Readonly<Record<string, string>>): SourceTree {
  const paths = new Set(Object.keys(texts))
  return new Map(Object.entries(texts).map(([path, text]) => [path, sourceFile(path, text, paths)]))
}

function sourceFile(path: string, text: string, paths: ReadonlySet<string>): SourceFile {
  const found = new Found(path)
  const syntax = /\.tsx?$/.test(path) ? 'typescript' : 'ecmascript'
  found.visit(parseSync(text, { syntax, tsx: path.endsWith('.tsx'), target: 'es2022' }))
  // A built file that is loaded by name (bench, scripts, tests of processes) stands for its source.
  for (const each of found.strings) {
    const built = /([\w-]+\/)*[\w-]+(?=\.js$)/.exec(each.replace(/^.*\bdist\//, ''))?.[0]
    const source = `src/${built}.ts`
    if (paths.has(source) && source !== path) found.takes.push({ from: source, names: 'mentioned' })
  }
  return { ...found.all(), path, lines: text.split('\n').length - 1, declarations: declarationsIn(text) }
}

const DECLARATION = /^(?:export )?(?:abstract |async )*(?:const|function|class|interface|type) (\w+)/
const MEMBER = /^ {2}(?:readonly )?(\w+)\??[:(<]/

/** By the lines of the text, as the formatter lays them out: the syntax tree has no comments. */
function declarationsIn(text: string): Map<string, boolean> {
  const found = new Map<string, boolean>()
  const note = (name: string, isDocumented: boolean) => found.set(name, isDocumented || found.get(name) === true)
  let above = ''
  let type: string | undefined
  for (const line of text.split('\n')) {
    const name = DECLARATION.exec(line)?.[1]
    const member = MEMBER.exec(line)?.[1]
    if (name !== undefined) note(name, above.endsWith('*/'))
    if (name !== undefined || line === '}') type = /\b(interface|type) /.test(line) ? name : undefined
    if (type !== undefined && member !== undefined) note(`${type}.${member}`, above.endsWith('*/'))
    above = line
  }
  return found
}

// biome-ignore lint/suspicious/noExplicitAny: the nodes of a syntax tree, looked at by their type.
type Node = any

/** What a syntax tree says that a check asks for. */
class Found {
  readonly #path: string
  readonly takes: Taken[] = []
  readonly strings: string[] = []
  readonly #packages = new Set<string>()
  readonly #exports = new Map<string, { from: string; name: string } | undefined>()
  readonly #stars: string[] = []
  readonly #identifiers = new Set<string>()
  readonly #members = new Set<string>()

  constructor(path: string) {
    this.#path = path
  }

  all(): Omit<SourceFile, 'path' | 'lines' | 'declarations'> {
    return {
      takes: this.takes,
      packages: this.#packages,
      exports: this.#exports,
      stars: this.#stars,
      identifiers: this.#identifiers,
      strings: this.strings,
      members: this.#members,
    }
  }

  visit(node: Module | Node): void {
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
        this.#stars.push(this.#fileOf(node.source.value))
        break
      case 'ExportDeclaration':
        for (const name of namesOf(node.declaration)) this.#exports.set(name, undefined)
        break
      case 'CallExpression':
        if (node.callee.type === 'Import') this.#noteWhole(node.arguments[0].expression)
        break
      case 'TsImportType':
        this.#noteWhole(node.argument)
        break
      case 'Identifier':
      case 'PrivateName':
        this.#identifiers.add(node.value)
        break
      case 'StringLiteral':
        this.strings.push(node.value)
        break
      case 'TemplateElement':
        this.strings.push(node.raw)
        break
      case 'MemberExpression':
        this.#members.add(`${node.object.value}.${node.property.value}`)
        break
      case 'NewExpression':
        if (node.arguments?.length === 0) this.#members.add(`new ${node.callee.value}()`)
    }
  }

  #noteImport({ source, specifiers }: Node): void {
    if (!source.value.startsWith('.')) {
      this.#packages.add(source.value)
      return
    }
    const isWhole = specifiers.some((each: Node) => each.type === 'ImportNamespaceSpecifier')
    const names = specifiers.map((each: Node) =>
      each.type === 'ImportDefaultSpecifier' ? 'default' : (each.imported ?? each.local).value,
    )
    this.takes.push({ from: this.#fileOf(source.value), names: isWhole ? 'mentioned' : names })
  }

  #noteExports({ source, specifiers }: Node): void {
    for (const { orig, exported } of specifiers) {
      const passed = source && { from: this.#fileOf(source.value), name: orig.value }
      this.#exports.set((exported ?? orig).value, passed ?? undefined)
    }
  }

  #noteWhole(path: Node): void {
    if (path.type === 'StringLiteral' && path.value.startsWith('.'))
      this.takes.push({ from: this.#fileOf(path.value), names: 'mentioned' })
  }

  #fileOf(specifier: string): string {
    return posix.join(posix.dirname(this.#path), specifier)
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
