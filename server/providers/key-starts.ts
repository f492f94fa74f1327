/** How the keys of a provider begin, where no other provider's keys do; each as its provider documents it. By slug. */
export const keyStarts: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['sk-ant-'],
  openrouter: ['sk-or-'],
  openai: ['sk-proj-', 'sk-svcacct-'],
  gemini: ['AIza'],
  groq: ['gsk_'],
  xai: ['xai-'],
  perplexity: ['pplx-'],
  fireworks: ['fw_'],
  nvidia: ['nvapi-'],
  'github-models': ['ghp_', 'github_pat_'],
};
