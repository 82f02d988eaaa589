import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

/** As GitHub makes them, so that one link is right in both. */
function slugify(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-')
}

const page = (text, path) => ({ text, link: `/${path}` })

const sidebar = [
  {
    text: 'Begin',
    items: [
      page('What it is', ''),
      page('Tutorial', 'docs/tutorial'),
      page('Examples', 'examples/README'),
      page('Coming from …', 'docs/coming-from'),
    ],
  },
  {
    text: 'Use',
    items: [
      page('SDK', 'docs/sdk'),
      page('Command line', 'docs/cli'),
      page('HTTP', 'docs/protocol'),
      page('containerd', 'docs/containerd'),
    ],
  },
  {
    text: 'Run',
    items: [
      page('The dashboard', 'docs/dashboard'),
      page('Operations', 'docs/operations'),
      page('Configuration', 'docs/configuration'),
      page('Deploy', 'deploy/README'),
      page('Stores', 'docs/stores'),
      page('Limits', 'docs/limits'),
      page('Security', 'SECURITY'),
    ],
  },
  {
    text: 'Trust',
    items: [
      page('Rules', 'docs/rules'),
      page('Guarantees', 'docs/guarantees'),
      page('Performance', 'docs/performance'),
      page('Scaling', 'docs/scaling'),
    ],
  },
  {
    text: 'Change',
    items: [
      page('Architecture', 'docs/architecture'),
      page('Decisions', 'docs/decisions/README'),
      page('Contributing', 'CONTRIBUTING'),
      page('Changelog', 'CHANGELOG'),
    ],
  },
]

export default defineConfig({
  title: 'Baton',
  description: 'An outcome-aware distributed lock: single-flight for a whole cluster.',
  head: [['link', { rel: 'icon', href: '/icon.svg' }]],
  // Those of the repository: copy-pages.mjs brings them.
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: '.cache',
  // What is there and is no page lies in the public folder.
  ignoreDeadLinks: [(link) => isPublic(link)],
  themeConfig: {
    nav: [
      page('Tutorial', 'docs/tutorial'),
      page('SDK', 'docs/sdk'),
      page('Operations', 'docs/operations'),
      page('简体中文', 'README.zh-CN'),
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
  },
  markdown: {
    anchor: { slugify },
  },
  transformPageData: ({ relativePath }) => (relativePath.endsWith('.zh-CN.md') ? { lang: 'zh-CN' } : {}),
  transformHtml: (html, _id, { pageData }) =>
    pageData.relativePath.endsWith('.zh-CN.md') ? html.replace('<html lang="en-US"', '<html lang="zh-CN"') : html,
})

const folder = fileURLToPath(new URL('../pages/public/', import.meta.url))

/** A link is relative to a page that is not named here: it is enough that some page of the site could mean it. */
function isPublic(link) {
  return ['', 'docs', 'examples', 'examples/containerd', 'deploy'].some((from) =>
    existsSync(`${folder}${from}/${link}`),
  )
}
