/** Objects that are stored as JSON: settings of users, channels and what was noted of them. */

/** @returns {} where the text is none, or was damaged by hand. */
export function objectIn(text: string): Readonly<Record<string, unknown>> {
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}
