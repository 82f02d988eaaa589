// Which package may import which: the table in docs/architecture.md, as rules. `npm run imports` checks them.
// Tests, and what only they use, may import what they like. Only packages/*/src and internal/*/src are checked: the parser
// cannot read `using` declarations, which tests elsewhere have.
const tests = ['\\.test\\.ts$', '^packages/[^/]+/(test|scenarios)/', '^internal/test-support/']

const CONFORMANCE = '^packages/store/src/conformance/'

/** A package may import itself, npm packages, and these. */
const only = (name, ...allowed) => ({
  name: `${name}-imports`,
  severity: 'error',
  from: { path: `^packages/${name}/`, pathNot: tests },
  to: {
    path: '^(packages|internal)/',
    pathNot: [name, ...allowed].map((each) => `^packages/${each}${each.endsWith('$') ? '' : '/'}`),
  },
})

module.exports = {
  forbidden: [
    {
      name: 'core-is-pure',
      comment: 'The core imports nothing: no package, no node: module, no other folder.',
      severity: 'error',
      from: { path: '^packages/core/', pathNot: tests },
      to: { pathNot: '^packages/core/' },
    },
    only('protocol', 'core'),
    only('store', 'core'),
    only('store-mysql', 'core', 'store'),
    only('store-etcd', 'core', 'store'),
    only('service', 'core', 'protocol', 'store'),
    only('client', 'core', 'protocol'),
    only('server', 'service', 'protocol', 'core'),
    only('dashboard', 'protocol', 'core'),
    // To run the lock without a server, containerd loads the whole of Baton.
    only('containerd', 'client', 'protocol', 'baton-lock/src/index\\.ts$'),
    only('testing', 'client', 'core', 'store', 'service'),
    only('baton-lock', '[a-z-]+'),
    {
      name: 'stores-are-loaded-when-used',
      comment: 'Nobody pays for a store, or for containerd, that is not used.',
      severity: 'error',
      // The two of the command line take types only, which the parser does not tell apart.
      from: {
        path: '^packages/baton-lock/',
        pathNot: [...tests, '/cli/(commands/content|print/content-status)\\.ts$'],
      },
      to: { path: '^packages/(store-[a-z]+|containerd)/', dynamic: false },
    },
    {
      name: 'published-packages-by-their-exports',
      comment: 'They are not bundled into one another. Deep paths exist in the repository only.',
      severity: 'error',
      from: { path: '^packages/(?!client/)', pathNot: tests },
      to: { path: '^packages/client/src/', pathNot: '^packages/client/src/(index|internal)\\.ts$' },
    },
    {
      name: 'the-client-needs-no-zod',
      comment: 'Schemas are checked where requests arrive.',
      severity: 'error',
      from: { path: '^packages/client/', pathNot: tests },
      to: { path: '^packages/protocol/src/schemas\\.ts$' },
    },
    {
      name: 'engines-know-no-store',
      comment: 'The engines of the in-process stores and of the remote ones know the contract only.',
      severity: 'error',
      from: { path: '^packages/store/src/(resident|remote)/', pathNot: tests },
      to: { path: '^packages/store/src/([^/]+)/', pathNot: '^packages/store/src/$1/' },
    },
    {
      name: 'dashboard-runs-in-a-browser',
      comment: 'Nothing of Node.',
      severity: 'error',
      from: { path: '^packages/dashboard/', pathNot: tests },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'only-the-build-takes-the-dashboard',
      severity: 'error',
      from: { path: '^packages/(?!dashboard/)', pathNot: tests },
      to: { path: '^packages/dashboard/' },
    },
    {
      name: 'no-test-code-in-products',
      severity: 'error',
      from: { path: '^packages/', pathNot: tests },
      to: { path: ['^internal/', '\\.test\\.ts$', '^packages/[^/]+/(test|scenarios)/'] },
    },
    {
      name: 'conformance-is-for-tests',
      comment: 'The suites and what they need are test code that users get by @baton-lock/testing.',
      severity: 'error',
      from: { path: '^packages/', pathNot: [...tests, '^packages/testing/', CONFORMANCE] },
      to: { path: CONFORMANCE },
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
    // The parser does not read JSX: test/tidy.test.ts looks at the imports of the dashboard.
    exclude: { path: ['\\.tsx$', '/dist/'] },
    parser: 'swc', // dependency-cruiser cannot read TypeScript 7's own parser
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@baton-lock/source', 'import', 'node', 'default'],
    },
  },
}
