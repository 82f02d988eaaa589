// The pages of the repository, as they are, with the files that they show or link to, where VitePress finds its packages.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const pages = fileURLToPath(new URL('./pages', import.meta.url))
const HOME = 'README.md'
const FOLDERS = ['docs', 'examples', 'deploy']

const isPage = (path) => path.endsWith('.md')
const paths = [
  ...readdirSync(root).filter(isPage),
  ...FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter(isPage)
      .map((path) => join(folder, path)),
  ),
]

rmSync(pages, { recursive: true, force: true })
for (const path of paths) {
  const target = join(pages, path === HOME ? 'index.md' : path)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, readFileSync(join(root, path), 'utf8').replaceAll(/\]\(((?:\.\.\/)*)README\.md/g, toHome(path)))
  for (const file of linkedFiles(path)) {
    // Pictures are shown by pages, and found beside them; all else is taken from the site's public folder.
    for (const folder of [pages, join(pages, 'public')]) cpSync(join(root, file), join(folder, file))
  }
}

cpSync(join(root, 'packages/dashboard/src/icon.svg'), join(pages, 'public/icon.svg'))

/** A site begins with a page of another name. */
function toHome(page) {
  return (link, up) => (join(dirname(page), `${up}${HOME}`) === HOME ? `](${up}index.md` : link)
}

/** What a page leads to and is no page. */
function linkedFiles(page) {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '')
  const links = [...text.matchAll(/\]\(([^)\s#]+)[^)]*\)|(?:src|srcset|href)="([^"#]+)"/g)].map(([, a, b]) => a ?? b)
  return links
    .filter((link) => !/^[a-z]+:/.test(link) && !isPage(link))
    .map((link) => resolve(root, dirname(page), decodeURI(link)))
    .filter((path) => existsSync(path) && statSync(path).isFile())
    .map((path) => relative(root, path))
}
