/** Name of a browser and its system, as people would say it; for lists, never for decisions. */

const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bMicroMessenger\//, 'WeChat'],
  [/\b(Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/\bcurl\//, 'curl'],
];
const systems: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const named = (rows: typeof browsers, text: string): string => rows.find(([pattern]) => pattern.test(text))?.[1] ?? '';

/** @returns `Firefox · Linux`; the first word of an agent that is none of these; '' = it said nothing. */
export function browserOf(userAgent: string): string {
  const names = [named(browsers, userAgent), named(systems, userAgent)].filter((name) => name !== '');
  return names.length > 0 ? names.join(' · ') : (userAgent.split(/[\s/]/)[0] ?? '').slice(0, 40);
}
