/** Whether somebody has typed into a form of this page and not sent it yet. */
let typed = false;

export const hasUnsaved = (): boolean => typed && document.querySelector('form') !== null;

export function watchForms(): void {
  document.addEventListener('input', (event) => {
    if ((event.target as HTMLElement).closest('form') !== null) typed = true;
  });
}

/** A new page, or what was typed has been stored. */
export const forgetUnsaved = (): void => {
  typed = false;
};
