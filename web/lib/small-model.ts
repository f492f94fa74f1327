/** Which of many models a short question is asked of. Pure. */

const smallNames = /mini|small|flash|haiku|lite|nano|turbo|chat/i;
const other = /embed|image|tts|audio|whisper|realtime|transcri|moderation|dall|rerank|search|video|sora|veo|speech/i;

/** A model that answers a short question at little cost. @returns '' where there is none. */
export function smallModel(models: readonly string[]): string {
  const chat = models.filter((name) => !other.test(name));
  return chat.find((name) => smallNames.test(name)) ?? chat[0] ?? models[0] ?? '';
}
