/** The languages of the pages, and which of them the reader wants. */

export const languageKey = 'i18nextLng';

interface PageLanguage {
  readonly name: string;
  /** Texts by their keys; English stands in for what another language lacks. */
  readonly load: () => Promise<object>;
}

/** Languages of the pages. What rows of the contract say in another one lies in server/contract/languages. */
export const pageLanguages: Record<string, PageLanguage> = {
  zh: { name: '\u4e2d\u6587', load: async () => (await import('../locales/zh.ts')).zh },
  en: { name: 'English', load: async () => (await import('../locales/en.ts')).en },
};

/** @returns the one that was chosen, else the browser's, else English. */
export function selectedLanguage(): string {
  const selected = localStorage.getItem(languageKey) ?? navigator.language.toLowerCase();
  const [language = ''] = selected.split('-');
  return Object.hasOwn(pageLanguages, language) ? language : 'en';
}
