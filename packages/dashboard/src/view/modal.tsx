import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface ModalProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly onClose: () => void
}

/** A dialog of the browser's own: it keeps the focus, and Escape closes it. */
export function Modal({ title, children, onClose }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  const cancel = (event: Event) => {
    event.preventDefault()
    onClose()
  }
  return (
    <dialog ref={dialog} aria-labelledby={heading} onCancel={cancel}>
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  )
}
