/**
 * Languages besides Chinese and English: a file for each, English text -> its text, named here under its code. The console's
 * pages have their own in web/lib/i18n.ts. `tests/languages.test.ts` lists what a file lacks.
 */
export const languageFiles: Readonly<Record<string, Readonly<Record<string, string>>>> = {};

export const languageCodes: readonly string[] = ['zh', 'en', ...Object.keys(languageFiles)];
