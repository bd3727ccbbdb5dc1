create table urls (id integer primary key, url text, title text, visit_count integer);
insert into urls values
  (1, 'https://harbour.example/', 'Harbour', 4),
  (2, 'https://shop.example/lamps', 'Lamps', 2),
  (3, 'https://tides.example/today', 'Tides', 9),
  (4, 'https://shop.example/cart', 'Cart', 1);
