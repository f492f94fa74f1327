// Before the first paint, so that a dark screen never flashes white.
var saved = localStorage.getItem('theme-mode');
var dark = saved ? saved === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
document.documentElement.dataset.theme = dark ? 'dark' : 'light';
