import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { DockerfileParser, type JSONInstruction } from 'dockerfile-ast'
import { parse, parseAllDocuments } from 'yaml'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const pathTo = (name: string) => `${root}deploy/${name}`
export const read = (name: string) => readFileSync(pathTo(name), 'utf8')

export type Environment = Readonly<Record<string, string>>

/** What the Dockerfile says of the image that comes out in the end, and what it takes from the repository. */
export function readDockerfile(name = 'Dockerfile') {
  const dockerfile = DockerfileParser.parse(read(name))
  const last = dockerfile.getFROMs().at(-1)!.getRange().start.line
  const instructions = dockerfile.getInstructions().filter((each) => each.getRange().start.line >= last)
  const argumentsOf = (keyword: string) =>
    instructions.filter((each) => each.getKeyword() === keyword).map((each) => each.getArgumentsContent() ?? '')
  const env = dockerfile.getENVs().flatMap((each) => each.getProperties())
  return {
    argumentsOf,
    bases: dockerfile.getFROMs().map((from) => from.getImage()),
    environment: Object.fromEntries(env.map((each) => [each.getName(), each.getValue()])) as Environment,
    entrypoint: jsonOf(dockerfile.getENTRYPOINTs().at(-1)!),
    // The flags of HEALTHCHECK come before its CMD.
    healthcheck: argumentsOf('HEALTHCHECK').flatMap((each) => JSON.parse(each.replace(/^.*?CMD /s, '')) as string[]),
    commands: dockerfile
      .getInstructions()
      .filter((each) => each.getKeyword() === 'RUN')
      .map((each) => each.getRawArgumentsContent() ?? ''),
    copied: dockerfile
      .getCOPYs()
      .filter((copy) => copy.getFlags().length === 0)
      .flatMap((copy) =>
        copy
          .getArguments()
          .slice(0, -1)
          .map((each) => each.getValue()),
      ),
  }
}

function jsonOf(instruction: JSONInstruction): string[] {
  return instruction.getJSONStrings().map((each) => each.getJSONValue())
}

// biome-ignore lint/suspicious/noExplicitAny: what is in them is what the tests look for.
type Yaml = any

export const readYaml = (name: string): Yaml => parse(read(name), { strict: true, merge: true })

/** The objects of a file of Kubernetes, by their kind. */
export function readObjects(name: string): Readonly<Record<string, Yaml>> {
  return Object.fromEntries(objectsIn(name).map((each) => [each.kind, each]))
}

/** The same where there are several of a kind: by kind and name. */
export function readNamedObjects(name: string): Readonly<Record<string, Yaml>> {
  return Object.fromEntries(objectsIn(name).map((each) => [`${each.kind} ${each.metadata.name}`, each]))
}

function objectsIn(name: string): Yaml[] {
  const documents = parseAllDocuments(read(name), { strict: true })
  for (const { errors } of documents) if (errors[0]) throw errors[0]
  return documents.map((each) => each.toJS())
}

/** The settings of a unit of systemd, without its sections; what is said several times is a list. */
export function readUnit(name: string): Readonly<Record<string, readonly string[]>> {
  const settings: Record<string, string[]> = {}
  for (const line of read(name).split('\n')) {
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (key !== undefined) settings[key] = [...(settings[key] ?? []), value!]
  }
  return settings
}
