/** Loads an optional package. `what` needs it; if it is not installed, the error names the command that installs it. */
export async function loadOptional<Module>(what: string, name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const isMissing = ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(code ?? '') && message.includes(`'${name}'`)
    if (!isMissing) throw cause
    throw new TypeError(
      `${what} needs the package ${name}. Install it: npm install ${name} (with --global if baton-lock is global)`,
      { cause },
    )
  }
}
