import './style/base.css'
import './style/bar.css'
import './style/totals.css'
import './style/list.css'
import './style/resource.css'
import './style/timeline.css'
import './style/feed.css'
import './style/dialog.css'
import { render } from 'preact'
import { theme } from './browser.ts'
import { App } from './view/app.tsx'
import { begin } from './view/state.ts'

theme.apply()
begin()
const root = document.getElementById('app')!
root.replaceChildren()
render(<App />, root)
