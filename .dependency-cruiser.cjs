// Who may import whom: the table in docs/architecture.md, as rules. `npm run imports` checks them.
// Tests, and what only they stand on, may import what they like.
const tests = ['\\.test\\.ts$', '^src/testing/unit/']

const only = (folder, ...allowed) => ({
  name: `${folder.replaceAll('/', '-')}-imports`,
  severity: 'error',
  from: { path: `^src/${folder}/`, pathNot: tests },
  to: { path: '^src/', pathNot: [`^src/${folder}/`, ...allowed.map((path) => `^src/${path}`)] },
})

module.exports = {
  forbidden: [
    {
      name: 'core-is-pure',
      comment: 'The core imports nothing: no package, no node: module, no other folder.',
      severity: 'error',
      from: { path: '^src/core/', pathNot: tests },
      to: { pathNot: '^src/core/' },
    },
    only('protocol', 'core/'),
    only('stores/resident', 'core/', 'stores/[^/]+\\.ts$'),
    only('stores/remote', 'core/', 'stores/[^/]+\\.ts$'),
    {
      name: 'stores-know-no-other-store',
      comment: 'Any store: the core, the files of stores/, an engine, itself.',
      severity: 'error',
      from: { path: '^src/stores/([^/]+)/', pathNot: '\\.test\\.ts$' },
      to: {
        path: '^src/',
        pathNot: [
          '^src/core/',
          '^src/stores/[^/]+\\.ts$',
          '^src/stores/(resident/|remote/index\\.ts$)',
          '^src/stores/$1/',
        ],
      },
    },
    only('service', 'core/', 'protocol/', 'stores/store\\.ts$'),
    only('server', 'service/', 'protocol/', 'core/'),
    {
      name: 'client-imports',
      severity: 'error',
      from: { path: '^src/client/', pathNot: [...tests, '^src/client/in-process\\.ts$'] },
      to: { path: '^src/', pathNot: ['^src/client/', '^src/protocol/', '^src/core/'] },
    },
    {
      name: 'stores-only-by-the-table',
      comment: 'What is outside of stores/ opens stores by the table; testing/ has a rule of its own.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['\\.test\\.ts$', '^src/(stores|testing)/'] },
      to: { path: '^src/stores/[^/]+/' },
    },
    {
      name: 'the-table-loads-dynamically',
      comment: 'Nobody pays for a store that is not used.',
      severity: 'error',
      from: { path: '^src/stores/table\\.ts$' },
      to: { path: '^src/stores/[^/]+/', dynamic: false },
    },
    only('dashboard', 'protocol/', 'core/'),
    {
      name: 'dashboard-runs-in-a-browser',
      comment: 'Nothing of Node.',
      severity: 'error',
      from: { path: '^src/dashboard/', pathNot: tests },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'nobody-imports-the-dashboard',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/dashboard/', ...tests] },
      to: { path: '^src/dashboard/' },
    },
    only('cli', 'client/', 'protocol/', 'core/', 'content/serve\\.ts$'),
    only('grpc'),
    only('content', 'client/', 'protocol/', 'core/', 'grpc/index\\.ts$'),
    only(
      'testing',
      'core/',
      'stores/[^/]+\\.ts$',
      'stores/memory/',
      'stores/file/',
      'stores/remote/index\\.ts$',
      'service/',
      'server/web-socket/connection\\.ts$',
      'client/',
      'protocol/',
    ),
    {
      name: 'only-tests-import-what-is-not-built',
      comment: 'The build leaves src/testing/unit out.',
      severity: 'error',
      from: { path: '^src/', pathNot: tests },
      to: { path: '^src/testing/unit/' },
    },
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
    // Its parser does not read them: test/tidy.test.ts looks at what they import.
    exclude: { path: '\\.tsx$' },
    parser: 'swc', // dependency-cruiser cannot read TypeScript 7's own parser
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
}
