import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { failureOf, freshProject, type Project, published } from './fresh-project.ts'

/** A project whose tests run under Jest, which loads packages as CommonJS. */
let project: Project

beforeAll(async () => {
  project = await freshProject([...published.keys()], { sources: ['jest'], others: ['jest@30'] })
}, 240_000)
afterAll(() => project?.remove())

const jest = () => project.node('node_modules/jest/bin/jest.js', '--ci', '--json')

test('a test under Jest can use all packages', async () => {
  const { stdout } = await jest().catch((error) => error)
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(stdout)
  expect(testResults.map(({ message }: { message: string }) => message).join('')).toBe('')
  expect({ numPassedTests, numFailedTests }).toEqual({ numPassedTests: 3, numFailedTests: 0 })
}, 120_000)

test('one that fails is seen to fail', async () => {
  await writeFile(join(project.folder, 'failing.test.js'), "test('fails', () => expect(1).toBe(2))\n")
  expect(JSON.parse(/^\{.*\}$/m.exec(await failureOf(jest()))![0]).numFailedTests).toBe(1)
}, 120_000)
