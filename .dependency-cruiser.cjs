// Who may import whom: the table in docs/architecture.md, as rules. `npm run imports` checks them.
const only = (folder, ...allowed) => ({
  name: `${folder.replaceAll('/', '-')}-imports`,
  severity: 'error',
  from: { path: `^src/${folder}/`, pathNot: '\\.test\\.ts$' },
  to: { path: '^src/', pathNot: [`^src/${folder}/`, ...allowed.map((path) => `^src/${path}`)] },
})

module.exports = {
  forbidden: [
    {
      name: 'core-is-pure',
      comment: 'The core imports nothing: no package, no node: module, no other folder.',
      severity: 'error',
      from: { path: '^src/core/', pathNot: '\\.test\\.ts$' },
      to: { pathNot: '^src/core/' },
    },
    only('protocol', 'core/'),
    only('stores/resident', 'core/', 'stores/[^/]+\\.ts$'),
    only('stores/memory', 'core/', 'stores/[^/]+\\.ts$', 'stores/resident/'),
    only('stores/file', 'core/', 'stores/[^/]+\\.ts$', 'stores/resident/'),
    only('stores/remote', 'core/', 'stores/[^/]+\\.ts$'),
    only('stores/mysql', 'core/', 'stores/[^/]+\\.ts$', 'stores/remote/index\\.ts$'),
    only('service', 'core/', 'protocol/', 'stores/store\\.ts$'),
    only('server', 'service/', 'protocol/', 'core/'),
    {
      name: 'client-imports',
      severity: 'error',
      from: { path: '^src/client/', pathNot: ['\\.test\\.ts$', '^src/client/open\\.ts$'] },
      to: { path: '^src/', pathNot: ['^src/client/', '^src/protocol/', '^src/core/'] },
    },
    {
      name: 'open-imports-stores-dynamically',
      severity: 'error',
      from: { path: '^src/client/open\\.ts$' },
      to: { path: '^src/stores/[^/]+/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    only('cli', 'client/', 'protocol/', 'core/'),
    only(
      'testing',
      'core/',
      'stores/memory/',
      'stores/file/',
      'stores/mysql/',
      'stores/store\\.ts$',
      'service/',
      'client/',
      'protocol/',
    ),
    {
      name: 'only-main-wires',
      comment: 'Nothing imports main.ts.',
      severity: 'error',
      from: {},
      to: { path: '^src/main\\.ts$' },
    },
    {
      name: 'units-know-no-e2e',
      comment: 'What unit tests share with others stands outside of test/e2e, which is about built processes.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^test/e2e/' },
    },
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    parser: 'swc', // dependency-cruiser cannot read TypeScript 7's own parser
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
}
