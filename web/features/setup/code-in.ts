/** The set-up code of the printed link, `#code=0123456789abcdef`; '' = none. A fragment reaches no server and no log. */
export const codeIn = (fragment: string): string =>
  new URLSearchParams(fragment.replace(/^#/, '')).get('code')?.trim() ?? '';
